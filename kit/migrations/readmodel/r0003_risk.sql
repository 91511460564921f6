-- Entries show how risky it is to rely on them, from the verdict that they show.
ALTER TABLE entry ADD COLUMN risk_score integer, ADD CONSTRAINT entry_risk_score_check CHECK (risk_score BETWEEN 0 AND 100);
UPDATE entry e SET risk_score = round(50 * (1 - v.confidence) + CASE WHEN v.supporting + v.opposing = 0 THEN 50
        ELSE 100.0 * least(v.supporting, v.opposing) / (v.supporting + v.opposing) END)
    FROM analysis a JOIN scenario r ON r.analysis_id = a.id AND r.ordinal = a.recommended
        JOIN verdict v ON v.scenario_id = r.id
    WHERE a.id = e.analysis_id;
COMMENT ON TABLE entry IS 'A claim with a page, as its newest edit left it. Summaries and scores are of the newest analysis of its assertion, `analysis_id`, and change with it; `cache_updated_at` is when that was made. `risk_score`: half of it is confidence that lacks, half how evenly evidence is divided; without evidence that half is whole';
